(package (full_ident) @name) @module @level1
(message (message_name) @name) @struct
(enum (enum_name) @name) @enum
(service (service_name) @name) @interface
(rpc (rpc_name) @name) @method
(extend (full_ident) @name) @scope
(oneof (identifier) @name) @property
(field (identifier) @name) @property
(map_field (identifier) @name) @property
(oneof_field (identifier) @name) @property
