(invocation (object_reference name: (_) @name)) @call
(create_trigger [(keyword_function) (keyword_procedure)] . (object_reference name: (_) @name)) @call
