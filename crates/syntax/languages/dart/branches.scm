; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(if_statement "else" @flat)
(if_element) @branch
(for_statement) @branch @nest @structure
(for_element) @branch
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(do_statement) @branch @nest @structure
(switch_statement) @nest @structure
(switch_statement condition: (_) @head)
(switch_statement_case) @branch
(switch_expression) @nest @structure
(switch_expression_case) @branch
(try_statement (catch_clause) @branch @nest @structure)
(conditional_expression) @branch @structure
[(logical_and_expression) (logical_or_expression)] @branch @logic
(if_null_expression) @branch
[(function_expression) (function_declaration) (local_function_declaration) (method_declaration)] @deep
