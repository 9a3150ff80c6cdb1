; What each capture means: languages/README.md, branches.scm.
(if_expression) @branch @nest @structure
(if_expression condition: (_) @head)
(else_clause) @flat
(for_expression) @branch @nest @structure
(for_expression value: (_) @head)
(while_expression) @branch @nest @structure
(while_expression condition: (_) @head)
(loop_expression) @branch @nest @structure
(match_expression) @nest @structure
(match_expression value: (_) @head)
; The first arm of a match adds no path.
(match_block (match_arm) . (match_arm) @branch)
(let_declaration alternative: (_) @branch @structure)
(binary_expression operator: ["&&" "||"]) @branch @logic
(break_expression (label)) @flat
(continue_expression (label)) @flat
(closure_expression) @deep
(function_item) @deep
