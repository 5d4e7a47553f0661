package liquid

import "github.com/google/uuid"

// newUUID ignores what is piped into it: a filter has to have a value.
func newUUID(...any) string { return uuid.NewString() }
