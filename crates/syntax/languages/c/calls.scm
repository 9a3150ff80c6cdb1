(call_expression function: (identifier) @name) @call
(call_expression function: (field_expression field: (field_identifier) @name)) @call
(call_expression function: (parenthesized_expression (pointer_expression argument: (identifier) @name))) @call
(call_expression function: (parenthesized_expression (pointer_expression
  argument: (field_expression field: (field_identifier) @name)))) @call
