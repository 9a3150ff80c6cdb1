; @branch adds a way through a function, @nest a level of depth.
(if_statement) @branch @nest
(for_statement) @branch @nest
(expression_switch_statement) @nest
(type_switch_statement) @nest
(select_statement) @nest
(expression_case) @branch
(type_case) @branch
(communication_case) @branch
(binary_expression operator: ["&&" "||"]) @branch
