(call_expression function: (identifier) @name) @call
(call_expression function: (scoped_identifier name: (identifier) @name)) @call
(call_expression function: (field_expression field: (field_identifier) @name)) @call
(call_expression function: (generic_function function: (identifier) @name)) @call
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @name))) @call
(call_expression function: (generic_function function: (field_expression field: (field_identifier) @name))) @call
(macro_invocation macro: (identifier) @name) @call
