// Package nodecache keeps tarballs on this replica's disk, by digest.
package nodecache
