"""Results that are carried to another machine: packed into an archive there, unpacked here."""
