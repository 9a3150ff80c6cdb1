; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(if_expression) @branch @structure
(if_expression condition: (_) @head)
(else_clause) @flat
(for_statement) @branch @nest @structure
(for_expression) @branch @nest @structure
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(while_expression) @branch @nest @structure
(while_expression condition: (_) @head)
(switch_expression) @nest @structure
; `else` has no value before its arrow.
(switch_case . (_)) @branch
(catch_expression) @branch @structure
(binary_expression operator: ["and" "or"]) @branch @logic
(binary_expression operator: "orelse") @branch
(break_expression (break_label)) @flat
(continue_expression (break_label)) @flat
(function_declaration) @deep
