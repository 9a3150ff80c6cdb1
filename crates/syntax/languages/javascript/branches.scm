; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(else_clause) @flat
(for_statement) @branch @nest @structure
(for_statement initializer: (_) @head)
(for_statement condition: (_) @head)
(for_statement increment: (_) @head)
(for_in_statement) @branch @nest @structure
(for_in_statement right: (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(do_statement) @branch @nest @structure
(do_statement condition: (_) @head)
(switch_statement) @nest @structure
(switch_statement value: (_) @head)
(switch_case) @branch
(catch_clause) @branch @nest @structure
(ternary_expression) @branch @structure
(ternary_expression condition: (_) @head)
(binary_expression operator: ["&&" "||" "??"]) @branch
(binary_expression operator: ["&&" "||"]) @logic
(break_statement label: (_)) @flat
(continue_statement label: (_)) @flat
; A function that only returns another adds no level; only the inner one counts.
(arrow_function body: (arrow_function) @even)
[(arrow_function) (function_expression) (function_declaration) (generator_function) (generator_function_declaration)
  (method_definition)] @deep
