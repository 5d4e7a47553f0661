package console_test

import (
	"os"
	"testing"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/console/look"
	"github.com/axle-cd/axle/test/console/stack"
)

// huge has 300 clusters and 3,000 services; with AXLE_SOAK, as make soak sets it, its
// own 10,000 and 100,000.
func huge() stack.Config {
	if os.Getenv("AXLE_SOAK") != "" {
		return stack.Config{Profile: stack.Huge, Pages: bin.AnyStyle}
	}
	return stack.Config{Profile: stack.Huge, Pages: bin.AnyStyle, Clusters: 300, Services: 3000}
}

// TestBrowser runs the tests of what people do. The longest profile goes first.
func TestBrowser(t *testing.T) {
	look.Run(t, []look.Tests{
		{Config: stack.Config{Profile: stack.Real, Pages: bin.AnyStyle}},
		{Config: stack.Config{Profile: "small", Pages: bin.AnyStyle}, Folder: "people"},
		{Config: huge()},
		{Config: stack.Config{Profile: stack.Fresh, Pages: bin.AnyStyle}},
	})
}
