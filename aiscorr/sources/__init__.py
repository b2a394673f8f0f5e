"""Where bytes come from: files, folders, archives, live clusters."""
