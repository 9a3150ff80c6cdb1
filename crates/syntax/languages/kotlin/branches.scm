; What each capture means: languages/README.md, branches.scm.
(if_expression) @branch @nest @structure
(if_expression condition: (_) @head)
(if_expression "else" @flat)
(for_statement) @branch @nest @structure
(for_statement "in" . (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(do_while_statement) @branch @nest @structure
(do_while_statement condition: (_) @head)
(when_expression) @nest @structure
(when_expression (when_subject) @head)
; `else` has no condition.
(when_entry . condition: (_)) @branch
(catch_block) @branch @nest @structure
(binary_expression operator: ["&&" "||" "?:"]) @branch
(binary_expression operator: ["&&" "||"]) @logic
(lambda_literal) @deep
(anonymous_function) @deep
(function_body (block (function_declaration) @deep))
