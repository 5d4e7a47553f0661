package story_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/test/node"
	"github.com/axle-cd/axle/test/node/story"
)

// TestMain plays the owner of a node that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("AXLE_NODE_OWNER") == "" {
		os.Exit(m.Run())
	}
	if err := own(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// own starts a node with a pod, says so, and waits to be killed.
func own(ctx context.Context) error {
	n, err := node.Start(ctx, node.Config{})
	if err != nil {
		return err
	}
	for _, args := range []string{"run left --image " + node.Guest, "wait pod/left --for condition=Ready --timeout 2m"} {
		out, err := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", n.Cluster.Kubeconfig()}, strings.Fields(args)...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", args, err, out)
		}
	}
	fmt.Println("ready")
	select {}
}

// The images of a release run on a real node: they are installed from a registry that a
// bundle was pushed to, with every other address refused, deliver from Git over HTTPS,
// upgrade themselves, and survive a killed hub. A node whose owner was killed is in nobody's
// way. That needs root and takes some minutes, so it is for AXLE_SOAK=1 (make soak).
// Otherwise the test sees that both installs are possible, with images of that registry
// alone.
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
	killOwner(t)
	result, err := story.Play(t.Context(), story.Config{Dir: t.TempDir(), Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range result.Steps {
		t.Logf("%6.1f s  %s", step.Seconds, step.What)
	}
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("the node left %q", left)
	}
}

// killOwner kills the owner of a node with a pod, so that the next start has to clean up.
func killOwner(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	owner := exec.CommandContext(ctx, os.Args[0])
	owner.Env = append(os.Environ(), "AXLE_NODE_OWNER=1")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(owner); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); said != "ready" && lines.Scan(); {
		said = lines.Text()
		t.Log(said)
	}
	if err := child.Kill(owner); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
	if said != "ready" {
		t.Fatalf("the owner of a node ended: %s", said)
	}
	if left := leftovers(t); len(left) < 4 {
		t.Fatalf("a killed owner left only %q, so nothing has to be cleaned up", left)
	}
}

// leftovers are what a node has made on this machine.
func leftovers(t *testing.T) []string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, pattern := range []string{"/run/netns/axle-node", "/sys/class/net/axle-node", "/sys/fs/cgroup/axle-node", "/sys/fs/cgroup/*/axle-node", "/var/log/containers/axle-*", filepath.Join(cache, "axle", "node")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, files...)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	results, err := exec.CommandContext(t.Context(), "sh", "-c", "cat /var/lib/cni/results/* 2>/dev/null || true").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts) + string(results)) {
		if strings.Contains(line, filepath.Join(cache, "axle", "node")+"/") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
