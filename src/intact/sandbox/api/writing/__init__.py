"""Creating and changing objects: requests, patches, apply and field ownership."""
