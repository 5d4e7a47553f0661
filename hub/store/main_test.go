package store_test

import (
	"os"
	"testing"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// TestMain also is the writer that a test kills.
func TestMain(m *testing.M) {
	if url, dir := os.Getenv("AXLE_STORE_WRITER_URL"), os.Getenv("AXLE_STORE_WRITER_DIR"); dir != "" {
		writeForever(url, dir)
		return
	}
	store.Databases = map[string]func(tb testing.TB) store.Config{
		"sqlite":   func(tb testing.TB) store.Config { return storetest.SQLite(tb).Config },
		"postgres": func(tb testing.TB) store.Config { return storetest.Postgres(tb).Config },
	}
	storetest.Main(m)
}
