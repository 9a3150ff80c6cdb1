; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(elif_clause) @branch @flat
(elif_clause condition: (_) @head)
(if_statement alternative: (else_clause) @flat)
(for_statement) @branch @nest @structure
(for_statement right: (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
; The `else` of a loop or try adds one path but no depth.
(for_statement alternative: (else_clause) @branch @head)
(while_statement alternative: (else_clause) @branch @head)
(try_statement (else_clause) @branch)
(try_statement) @nest
(except_clause) @branch @structure
(with_statement) @nest
(match_statement) @nest @structure
(match_statement subject: (_) @head)
; `case _` and `case name` match the rest.
(case_clause (case_pattern [(dotted_name (identifier) . (identifier)) (integer) (float) (string) (none) (true) (false)
  (class_pattern) (union_pattern) (list_pattern) (tuple_pattern) (dict_pattern) (as_pattern) (splat_pattern)
  (complex_pattern) (concatenated_string)])) @branch
(conditional_expression) @branch @structure
(conditional_expression (_) "if" (_) @head "else")
(boolean_operator) @branch @logic
(assert_statement) @branch
; Each `for` of a comprehension has the comprehension's level; its element is one level deeper.
[(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @deep
(for_in_clause) @branch @head @structure
(for_in_clause right: (_) @head)
(if_clause) @branch @flat
; A function that only defines and returns another is a decorator: it adds no depth to the inner one.
(function_definition body: (block . [
  (function_definition) @even
  (decorated_definition definition: (function_definition) @even)
] . (return_statement) .))
(function_definition) @deep
(lambda) @deep
