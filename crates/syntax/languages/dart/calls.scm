(call_expression function: (identifier) @name) @call
(call_expression function: (member_expression property: (identifier) @name)) @call
