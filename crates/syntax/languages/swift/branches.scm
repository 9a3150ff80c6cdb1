; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(if_statement (else) @flat)
(guard_statement) @branch @structure
(guard_statement condition: (_) @head)
(for_statement) @branch @nest @structure
(for_statement collection: (_) @head)
(for_statement (where_clause) @branch)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(repeat_while_statement) @branch @nest @structure
(repeat_while_statement condition: (_) @head)
(switch_statement) @nest @structure
(switch_statement expr: (_) @head)
; `default` has no pattern.
(switch_entry . (switch_pattern)) @branch
(catch_block) @branch @nest @structure
(ternary_expression) @branch @structure
(ternary_expression condition: (_) @head)
(conjunction_expression) @branch @logic
(disjunction_expression) @branch @logic
(nil_coalescing_expression) @branch
(lambda_literal) @deep
(statements (function_declaration) @deep)
