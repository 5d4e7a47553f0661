// Package shard says which replica owns a repository.
package shard
