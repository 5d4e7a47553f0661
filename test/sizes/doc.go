// Package sizes holds that what others write stays small where it is decoded: each message
// of our protocols and each list that agents send packed. It measures what decoding allocates; attacks by whole requests
// are in hub/sizes_test.go and hub/agentapi/sizes_test.go.
package sizes
