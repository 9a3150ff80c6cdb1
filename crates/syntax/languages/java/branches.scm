; @branch adds a way through a function, @nest a level of depth.
(if_statement) @branch @nest
(for_statement) @branch @nest
(enhanced_for_statement) @branch @nest
(while_statement) @branch @nest
(do_statement) @branch @nest
(switch_expression) @nest
; `default` has nothing in it.
(switch_label . (_)) @branch
(catch_clause) @branch @nest
(ternary_expression) @branch
(binary_expression operator: ["&&" "||"]) @branch
