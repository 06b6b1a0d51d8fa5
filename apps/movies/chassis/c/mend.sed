# What the compiler of Thrift 0.17 writes for C, so that it can be used by threads and for long.

# Finalizers go on to that of every object; else each structure would leave 48 bytes behind.
/_finalize (GObject \*object)$/,/^}/ s/^}/  G_OBJECT_CLASS (g_type_class_peek (G_TYPE_OBJECT))->finalize (object);\n}/

# A type is registered once, whichever threads ask for it first; else the second has none.
s/^  static GType type = 0;/  static gsize type = 0;/
s/^  if (type == 0) *$/  if (g_once_init_enter (\&type))/
s/^    type = g_type_register_static (/    g_once_init_leave (\&type, g_type_register_static (/
s/^\( *\)&type_info, 0);/\1\&type_info, 0));/
