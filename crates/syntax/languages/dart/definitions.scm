(class_declaration name: (_) @name) @class
(mixin_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(extension_declaration name: (_) @name) @class
(extension_type_declaration name: (extension_type_name . (identifier) @name)) @class
(type_alias . (type_identifier) @name) @type

(function_declaration signature: (function_signature name: (_) @name (formal_parameter_list) @parameters) @callable body: (function_body ["async" "async*" "sync*"]? @modifier) @body) @function
(external_function_declaration signature: (function_signature name: (_) @name (formal_parameter_list) @parameters) @callable) @function
(getter_declaration signature: (getter_signature "get" @modifier name: (_) @name) @callable body: (function_body ["async" "async*" "sync*"]? @modifier) @body) @function
(external_getter_declaration signature: (getter_signature "get" @modifier name: (_) @name) @callable) @function
(setter_declaration signature: (setter_signature "set" @modifier name: (_) @name (formal_parameter_list) @parameters) @callable body: (function_body ["async" "async*" "sync*"]? @modifier) @body) @function
(external_setter_declaration signature: (setter_signature "set" @modifier name: (_) @name (formal_parameter_list) @parameters) @callable) @function
(local_function_declaration (function_signature name: (_) @name (formal_parameter_list) @parameters) @callable (function_body ["async" "async*" "sync*"]? @modifier) @body) @function

; Members. Where there is no body, the words before them are the declaration's own.
(method_declaration signature: (method_signature "static"? @modifier (function_signature name: (_) @name (formal_parameter_list) @parameters) @callable) body: (function_body ["async" "async*" "sync*"]? @modifier) @body) @method
(declaration (function_signature name: (_) @name (formal_parameter_list) @parameters) @callable) @method
(method_declaration signature: (method_signature "static"? @modifier (getter_signature "get" @modifier name: (_) @name) @callable) body: (function_body ["async" "async*" "sync*"]? @modifier) @body) @method
(declaration (getter_signature "get" @modifier name: (_) @name) @callable) @method
(method_declaration signature: (method_signature "static"? @modifier (setter_signature "set" @modifier name: (_) @name (formal_parameter_list) @parameters) @callable) body: (function_body ["async" "async*" "sync*"]? @modifier) @body) @method
(declaration (setter_signature "set" @modifier name: (_) @name (formal_parameter_list) @parameters) @callable) @method
(method_declaration signature: (method_signature (operator_signature operator: _ @name (formal_parameter_list) @parameters) @callable) body: (function_body ["async" "async*" "sync*"]? @modifier) @body) @method
(declaration (operator_signature operator: _ @name (formal_parameter_list) @parameters) @callable) @method
; Constructors: `Shape.named` is called by both names, `Shape` by its own.
(declaration (constructor_signature (identifier) . "." . (identifier) @name . (formal_parameter_list) @parameters) @callable [(redirection) (initializers)]? @body) @method
(method_declaration signature: (method_signature (constructor_signature (identifier) . "." . (identifier) @name . (formal_parameter_list) @parameters) @callable) body: (function_body) @body) @method
(declaration (constructor_signature (identifier) @name . (formal_parameter_list) @parameters) @callable [(redirection) (initializers)]? @body) @method
(method_declaration signature: (method_signature (constructor_signature (identifier) @name . (formal_parameter_list) @parameters) @callable) body: (function_body) @body) @method
(declaration (constant_constructor_signature "const" @modifier (identifier) . "." . (identifier) @name . (formal_parameter_list) @parameters) @callable [(redirection) (initializers)]? @body) @method
(declaration (constant_constructor_signature "const" @modifier (identifier) @name . (formal_parameter_list) @parameters) @callable [(redirection) (initializers)]? @body) @method
(declaration (factory_constructor_signature "factory" @modifier (identifier) . "." . (identifier) @name . (formal_parameter_list) @parameters) @callable) @method
(method_declaration signature: (method_signature (factory_constructor_signature "factory" @modifier (identifier) . "." . (identifier) @name . (formal_parameter_list) @parameters) @callable) body: (function_body) @body) @method
(declaration (factory_constructor_signature "factory" @modifier (identifier) @name . (formal_parameter_list) @parameters) @callable) @method
(method_declaration signature: (method_signature (factory_constructor_signature "factory" @modifier (identifier) @name . (formal_parameter_list) @parameters) @callable) body: (function_body) @body) @method
(declaration (redirecting_factory_constructor_signature "factory" @modifier (identifier) . "." . (identifier) @name . (formal_parameter_list) @parameters) @callable) @method
(declaration (redirecting_factory_constructor_signature "factory" @modifier (identifier) @name . (formal_parameter_list) @parameters) @callable) @method

(declaration [(initialized_identifier_list (initialized_identifier name: (_) @name) @property)
  (static_final_declaration_list (static_final_declaration name: (_) @name) @property)
  (identifier_list (identifier) @name @property)])
(top_level_variable_declaration [(initialized_identifier_list (initialized_identifier name: (_) @name) @constant)
  (static_final_declaration_list (static_final_declaration name: (_) @name) @constant)])
