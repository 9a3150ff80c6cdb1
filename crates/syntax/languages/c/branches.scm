; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(else_clause) @flat
(for_statement) @branch @nest @structure
(for_statement initializer: (_) @head)
(for_statement condition: (_) @head)
(for_statement update: (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(do_statement) @branch @nest @structure
(do_statement condition: (_) @head)
(switch_statement) @nest @structure
(switch_statement condition: (_) @head)
; `default` has no value.
(case_statement value: (_)) @branch
(conditional_expression) @branch @structure
(conditional_expression condition: (_) @head)
(binary_expression operator: ["&&" "||"]) @branch @logic
(goto_statement) @flat
