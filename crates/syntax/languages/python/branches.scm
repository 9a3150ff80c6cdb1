; @branch adds a way through a function, @nest a level of depth.
(if_statement) @branch @nest
(elif_clause) @branch
(for_statement) @branch @nest
(while_statement) @branch @nest
(except_clause) @branch
(try_statement) @nest
(with_statement) @nest
(match_statement) @nest
(case_clause) @branch
(conditional_expression) @branch
(boolean_operator) @branch
(for_in_clause) @branch
(if_clause) @branch
(assert_statement) @branch
