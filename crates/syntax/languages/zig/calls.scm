(call_expression function: (identifier) @name) @call
(call_expression function: (field_expression member: (identifier) @name)) @call
(builtin_function (builtin_identifier) @name (#not-any-of? @name "@import" "@This")) @call
