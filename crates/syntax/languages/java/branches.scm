; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(if_statement "else" @flat)
(for_statement) @branch @nest @structure
(for_statement init: (_) @head)
(for_statement condition: (_) @head)
(for_statement update: (_) @head)
(enhanced_for_statement) @branch @nest @structure
(enhanced_for_statement value: (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(do_statement) @branch @nest @structure
(do_statement condition: (_) @head)
(switch_expression) @nest @structure
(switch_expression condition: (_) @head)
; `default` has nothing in it.
(switch_label . (_)) @branch
(catch_clause) @branch @nest @structure
(ternary_expression) @branch @structure
(ternary_expression condition: (_) @head)
(binary_expression operator: ["&&" "||"]) @branch @logic
(break_statement (identifier)) @flat
(continue_statement (identifier)) @flat
(lambda_expression) @deep
; The methods of a class inside a method, with a name or without.
(object_creation_expression (class_body) @deep)
(block (class_declaration) @deep)
