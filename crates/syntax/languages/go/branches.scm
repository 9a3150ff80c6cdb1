; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement initializer: (_) @head)
(if_statement condition: (_) @head)
(if_statement "else" @flat)
(for_statement) @branch @nest @structure
(for_statement [(for_clause) (range_clause)] @head)
(expression_switch_statement) @nest @structure
(expression_switch_statement value: (_) @head)
(type_switch_statement) @nest @structure
(select_statement) @nest @structure
(expression_case) @branch
(type_case) @branch
(communication_case) @branch
(binary_expression operator: ["&&" "||"]) @branch @logic
(goto_statement) @flat
(break_statement (label_name)) @flat
(continue_statement (label_name)) @flat
(func_literal) @deep
