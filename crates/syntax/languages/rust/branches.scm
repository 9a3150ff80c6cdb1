; @branch adds a way through a function, @nest a level of depth.
(if_expression) @branch @nest
(for_expression) @branch @nest
(while_expression) @branch @nest
(loop_expression) @branch @nest
(match_expression) @nest
; One arm of a match is the way that would be there without it.
(match_block (match_arm) . (match_arm) @branch)
(binary_expression operator: ["&&" "||"]) @branch
