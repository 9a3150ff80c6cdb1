; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(elif_clause) @branch @flat
(else_clause) @flat
(for_statement) @branch @nest @structure
(for_statement value: (_) @head)
(c_style_for_statement) @branch @nest @structure
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(case_statement) @nest @structure
(case_statement value: (_) @head)
; `*)` matches the rest.
(case_item value: (_) @_value (#not-eq? @_value "*")) @branch
(ternary_expression) @branch @structure
(list ["&&" "||"]) @branch @logic
(binary_expression operator: ["&&" "||"]) @branch @logic
(function_definition) @deep
