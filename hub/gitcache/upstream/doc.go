// Package upstream runs git for the git cache.
package upstream
