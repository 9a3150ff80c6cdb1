; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(elseif_statement) @branch @flat
(else_statement) @flat
(for_statement) @branch @nest @structure
(for_statement clause: (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(repeat_statement) @branch @nest @structure
(repeat_statement condition: (_) @head)
(goto_statement) @flat
(binary_expression ["and" "or"]) @branch @logic
[(function_declaration) (function_definition)] @deep
