(apply function: (variable) @name) @call
(apply function: (qualified id: (variable) @name)) @call
; `f $ x` and `f <$> x`.
(infix left_operand: (variable) @name operator: (operator) @_operator
  (#any-of? @_operator "$" "$!" "<$>" "<$!>")) @call
(infix left_operand: (qualified id: (variable) @name) operator: (operator) @_operator
  (#any-of? @_operator "$" "$!" "<$>" "<$!>")) @call
(infix operator: (infix_id (variable) @name)) @call
(exp . (variable) @name .) @call
