"""What lies at a path: recognised by names, read whole or by headers, and shown as facts, problems and pictures."""
