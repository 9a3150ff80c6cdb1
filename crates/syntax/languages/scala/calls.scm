(call_expression function: (identifier) @name) @call
(call_expression function: (field_expression field: (identifier) @name)) @call
(call_expression function: (generic_function function: (identifier) @name)) @call
(call_expression function: (generic_function function: (field_expression field: (identifier) @name))) @call
(infix_expression operator: (identifier) @name) @call
(instance_expression (type_identifier) @name) @call
(instance_expression (generic_type type: (type_identifier) @name)) @call
