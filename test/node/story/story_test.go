package story_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/test/node"
	"github.com/axle-cd/axle/test/node/story"
)

// The images of a release run on a real node: they are installed from a registry that a
// bundle was pushed to, with every other address refused, deliver from Git over HTTPS,
// upgrade themselves, and survive a killed hub. That needs root and takes 20 minutes, so
// it is for AXLE_SOAK=1 (make soak). Otherwise the test sees that both installs are
// possible, with images of that registry alone.
func TestImagesRunOnARealNode(t *testing.T) {
	for name, text := range map[string]string{"small": story.Values, "ha": story.HAValues} {
		values := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		values["global"] = map[string]any{"registry": node.Registry}
		r, err := install.Render(t.Context(), install.Request{Release: "axle", Namespace: "axle", Values: values, Revision: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		images := 0
		for line := range strings.Lines(r.Manifest) {
			if image, ok := strings.CutPrefix(strings.TrimSpace(line), "image: "); ok {
				images++
				if !strings.HasPrefix(image, node.Registry+"/") {
					t.Errorf("%s: the image %s is from elsewhere", name, image)
				}
			}
		}
		if images < 2 {
			t.Errorf("%s: %d images", name, images)
		}
	}
	if os.Getenv("AXLE_SOAK") == "" {
		return
	}
	result, err := story.Play(t.Context(), story.Config{Dir: t.TempDir(), Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range result.Steps {
		t.Logf("%6.1f s  %s", step.Seconds, step.What)
	}
}
