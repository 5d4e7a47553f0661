// Package suite is Kubernetes' own end-to-end suite, reduced to the six groups
// of interest: API machinery, auth, apps, node, storage and network. It is
// compiled by build.sh into one test binary, which test/conformance starts once
// per shard. Nothing that ships imports it.
//
// Beside what the suite prints itself, the file named by AXLE_SUITE_EVENTS gets
// one line of JSON when a test begins and one when it ended.
package suite

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	conformancetestdata "k8s.io/kubernetes/test/conformance/testdata"
	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	e2etestingmanifests "k8s.io/kubernetes/test/e2e/testing-manifests"
	testfixtures "k8s.io/kubernetes/test/fixtures"

	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/auth"
	_ "k8s.io/kubernetes/test/e2e/common"
	_ "k8s.io/kubernetes/test/e2e/feature"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/network"
	_ "k8s.io/kubernetes/test/e2e/node"
	_ "k8s.io/kubernetes/test/e2e/storage"
	_ "k8s.io/kubernetes/test/utils/format"
)

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(e2etestingmanifests.GetE2ETestingManifestsFS())
	testfiles.AddFileSource(testfixtures.GetTestFixturesFS())
	testfiles.AddFileSource(conformancetestdata.GetConformanceTestdataFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	os.Exit(m.Run())
}

func TestE2E(t *testing.T) {
	// Not at the top level: the framework walks over all tests while it reads
	// its flags, and what was registered by then is used up by that.
	ginkgo.ReportBeforeEach(func(r ginkgo.SpecReport) {
		if r.State != types.SpecStateSkipped && r.State != types.SpecStatePending {
			tell(event{Name: r.FullText(), State: "begins"})
		}
	})
	ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		if r.State == types.SpecStateSkipped && r.Failure.Message == "" || r.State == types.SpecStatePending {
			return // not asked for
		}
		tell(event{
			Name: r.FullText(), State: r.State.String(),
			Seconds: r.RunTime.Seconds(), Message: r.Failure.Message, Where: r.Failure.Location.String(),
		})
	})
	e2e.RunE2ETests(t)
}

// event is one line for the runner, which declares the same fields.
type event struct {
	Name    string  `json:"name"`
	State   string  `json:"state"` // begins, or how it ended
	Seconds float64 `json:"seconds,omitempty"`
	Message string  `json:"message,omitempty"`
	Where   string  `json:"where,omitempty"`
}

var writing sync.Mutex

func tell(e event) {
	path := os.Getenv("AXLE_SUITE_EVENTS")
	if path == "" {
		return
	}
	writing.Lock()
	defer writing.Unlock()
	line, err := json.Marshal(e)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			_, err = file.Write(append(line, '\n'))
			file.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tell the runner:", err)
	}
}
