(call_expression . (identifier) @name) @call
(call_expression . (navigation_expression (identifier) @name .)) @call
(infix_expression (_) . (identifier) @name . (_)) @call
(constructor_invocation (user_type (identifier) @name .)) @call
