"""What demonstrations require of a memory."""
