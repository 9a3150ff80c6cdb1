; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(else_if_clause) @branch @flat
(else_if_clause condition: (_) @head)
(else_clause) @flat
(for_statement) @branch @nest @structure
(for_statement initialize: (_) @head)
(for_statement condition: (_) @head)
(for_statement update: (_) @head)
(foreach_statement) @branch @nest @structure
(foreach_statement . (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(do_statement) @branch @nest @structure
(do_statement condition: (_) @head)
(switch_statement) @nest @structure
(switch_statement condition: (_) @head)
(case_statement) @branch
(match_expression) @nest @structure
(match_expression condition: (_) @head)
(match_conditional_expression) @branch
(catch_clause) @branch @nest @structure
(conditional_expression) @branch @structure
(conditional_expression condition: (_) @head)
(binary_expression operator: ["&&" "||" "and" "or" "xor" "??"]) @branch
(binary_expression operator: ["&&" "||" "and" "or" "xor"]) @logic
(goto_statement) @flat
(anonymous_function) @deep
(arrow_function) @deep
(anonymous_class) @deep
