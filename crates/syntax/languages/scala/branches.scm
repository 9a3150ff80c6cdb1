; What each capture means: languages/README.md, branches.scm.
(if_expression) @branch @nest @structure
(if_expression condition: (_) @head)
(if_expression "else" @flat)
(for_expression) @branch @nest @structure
(for_expression enumerators: (_) @head)
(guard) @branch
(while_expression) @branch @nest @structure
(while_expression condition: (_) @head)
(do_while_expression) @branch @nest @structure
(do_while_expression condition: (_) @head)
(match_expression) @nest @structure
(match_expression value: (_) @head)
; `case _` matches the rest.
(match_expression body: (_ (case_clause pattern: [(alternative_pattern) (case_class_pattern) (typed_pattern)
  (tuple_pattern) (stable_identifier) (infix_pattern) (capture_pattern) (string) (integer_literal) (boolean_literal)
  (character_literal) (floating_point_literal) (null_literal) (interpolated_string_expression)]) @branch))
(catch_clause) @nest @structure
(catch_clause (_ (case_clause) @branch))
(infix_expression operator: (operator_identifier) @_operator (#any-of? @_operator "&&" "||")) @branch @logic
(lambda_expression) @deep
(block (function_definition) @deep)
