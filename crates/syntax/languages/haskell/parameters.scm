(patterns (_) @parameter @name)
; An operator has its parameters on both sides.
(infix left_operand: (_) @parameter @name)
(infix right_operand: (_) @parameter @name)
