; A stage lasts until the next.
(from_instruction as: (image_alias) @name) @block @level1
(from_instruction (image_spec name: (_) @name)) @block @level1
(arg_instruction (arg_pair name: (_) @name) @key)
(env_instruction (env_pair name: (_) @name) @key)
(label_instruction (label_pair key: (_) @name) @key)
(expose_instruction (expose_port) @name @key)
(source_file (entrypoint_instruction . _ @name) @block)
(source_file (cmd_instruction . _ @name) @block)
(source_file (healthcheck_instruction . _ @name) @block)
