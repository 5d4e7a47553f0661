package clusterapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// quiet is how long to wait for more changes.
	quiet = 200 * time.Millisecond
	// againEvery is how often a connected cluster is looked at.
	againEvery = 10 * time.Minute
	// maxObjects bounds the objects that are looked at.
	maxObjects = 1000
)

// agentAnnotation names the namespace of the agent that an object is for.
const agentAnnotation = "axle-cd.github.io/agent-namespace"

// objects are the custom resources that name clusters which others made.
var objects = v1alpha1.GroupVersion.WithResource("pluralcapiclusters")

// Finder connects the clusters of PluralCAPIClusters: those of Cluster API that no service of
// the hub makes. In a cluster without the kind it makes no requests.
type Finder struct {
	clusters *Clusters
	kube     *kube.Cluster
	// apis receives a value when the served kinds change, wake when there is something to do.
	apis, wake chan struct{}
	looking    sync.WaitGroup

	mu sync.Mutex
	// known are the objects by their uid.
	known map[types.UID]*finding
}

// finding is what is known of an object.
type finding struct {
	// Finder.mu guards these. looked is set while it is worked on, next is when to do so again
	// and generation what was seen of it.
	looked     bool
	next       time.Time
	generation int64

	// Only who looks at it uses these.
	inquiry asking
	backoff jitter.Backoff
}

// NewFinder returns a Finder that connects clusters in the way of c.
func NewFinder(c *Clusters, k *kube.Cluster) *Finder {
	return &Finder{clusters: c, kube: k, apis: make(chan struct{}, 1), wake: make(chan struct{}, 1), known: map[types.UID]*finding{}}
}

// APIsChanged says that the kind may have been added or removed.
func (f *Finder) APIsChanged() { poke(f.apis) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works on the objects until the context ends.
func (f *Finder) Run(ctx context.Context) error {
	defer f.looking.Wait()
	for f.serves(ctx) {
		inner, cancel := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { f.kube.Watch(inner, objects, f.wake) })
		f.follow(ctx)
		cancel()
		watching.Wait()
	}
	return nil
}

// serves waits until the cluster serves the kind, and returns false when the context ends.
func (f *Finder) serves(ctx context.Context) bool {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for ctx.Err() == nil {
		s, err := f.kube.Serves(ctx)
		var again <-chan time.Time
		if err != nil {
			again = f.kube.Clock.After(backoff.Next())
		} else if _, ok := s.Kinds[v1alpha1.GroupVersion.WithKind("PluralCAPICluster")]; ok {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-f.apis:
		case <-again:
		}
	}
	return false
}

// follow looks at the objects as they change and become due, until the kind is gone or the
// context ends.
func (f *Finder) follow(ctx context.Context) {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		next, err := f.pass(ctx)
		switch {
		case ctx.Err() != nil || apierrors.IsNotFound(err):
			return
		case err != nil:
			f.kube.Log.Warn("cannot read the PluralCAPIClusters; connected clusters stay as they are", logkey.Error, err)
			next = max(backoff.Next(), time.Second)
		default:
			backoff.Reset()
		}
		var again <-chan time.Time
		if next > 0 {
			again = f.kube.Clock.After(next)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.apis:
			return
		case <-f.wake:
		case <-again:
		}
		if jitter.Wait(ctx, quiet) != nil {
			return
		}
	}
}

// pass begins to work on the objects that are due, and returns when the next one is; zero is
// never.
func (f *Finder) pass(ctx context.Context) (time.Duration, error) {
	list, err := f.list(ctx)
	if err != nil {
		return 0, err
	}
	if list, err = f.ours(ctx, list); err != nil {
		return 0, err
	}
	since, undecided := f.enforce(ctx)
	if undecided != nil && !apierrors.IsForbidden(undecided) && !apierrors.IsNotFound(undecided) {
		return 0, undecided // it passes
	}
	first := map[place]string{}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, known := f.kube.Clock.Now(), map[types.UID]*finding{}
	var next time.Time
	for _, o := range list {
		one := f.known[o.UID]
		if one == nil {
			one = &finding{backoff: jitter.Backoff{Min: lookEvery, Max: againEvery}}
		}
		known[o.UID] = one
		if one.generation != o.Generation {
			one.generation, one.next = o.Generation, now
		}
		look, stays := f.decide(o, first, since, undecided)
		if stays {
			one.next = now.Add(againEvery)
		}
		if !one.looked && !now.Before(one.next) {
			one.looked = true
			f.looking.Go(func() { f.look(ctx, one, look) })
		}
		if !one.looked && (next.IsZero() || one.next.Before(next)) {
			next = one.next
		}
	}
	f.known = known
	if next.IsZero() {
		return 0, nil
	}
	return max(next.Sub(now), time.Millisecond), nil
}

// ours returns those of the objects that are this agent's. Hubs that share a management cluster
// have an agent each, in a namespace of its own, and a token must not reach another hub than
// its own: an object is of the agent whose namespace it names, else of the agent in the
// standard namespace, and of any other one only where there is none.
func (f *Finder) ours(ctx context.Context, all []v1alpha1.PluralCAPICluster) ([]v1alpha1.PluralCAPICluster, error) {
	mine := cmp.Or(f.clusters.config.Namespace, agentNamespace)
	standard := agentNamespace
	if len(all) > 0 && mine != standard {
		_, err := f.clusters.config.Client.AppsV1().Deployments(standard).Get(ctx, agentName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			standard = mine
		case apierrors.IsForbidden(err): // it cannot know: an object has to name it
		case err != nil:
			return nil, err
		}
	}
	return slices.DeleteFunc(all, func(o v1alpha1.PluralCAPICluster) bool {
		return cmp.Or(o.Annotations[agentAnnotation], standard) != mine
	}), nil
}

// decide returns how to look at an object, the first one of its Cluster before the others.
// One that nobody decided about stays what it is when its cluster is connected.
func (f *Finder) decide(o v1alpha1.PluralCAPICluster, first map[place]string, since time.Time, undecided error) (l look, stays bool) {
	l = look{object: o, at: place{o.Namespace, o.Spec.CAPIClusterRef.Name}, refusal: f.refuses(o, since, undecided)}
	stays = l.refusal != nil && l.refusal.reason == reasonUndecided && connected(o)
	if l.refusal != nil && !stays {
		return l, false
	}
	if other := first[l.at]; other != "" {
		l.refusal = &result{reason: reasonConflict, message: "PluralCAPICluster " + other + " is for the same Cluster and is older"}
		return l, false
	}
	first[l.at] = o.Name
	return l, stays
}

// list returns the objects, the oldest first.
func (f *Finder) list(ctx context.Context) ([]v1alpha1.PluralCAPICluster, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	var all []v1alpha1.PluralCAPICluster
	_, err := kubepage.Objects(ctx, f.kube.Client.CoreV1().RESTClient(), objects, "", metav1.ListOptions{}, func(item *unstructured.Unstructured) error {
		var o v1alpha1.PluralCAPICluster
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &o); err != nil {
			f.kube.Log.Warn("cannot read a PluralCAPICluster", logkey.Object, item.GetNamespace()+"/"+item.GetName(), logkey.Error, err)
			return nil
		}
		if all = append(all, o); len(all) == maxObjects {
			return kubepage.ErrEnough
		}
		return nil
	}, func(err error) error {
		f.kube.Log.Warn("cannot read a PluralCAPICluster", logkey.Error, err)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b v1alpha1.PluralCAPICluster) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)))
	})
	return all, nil
}

// look brings the cluster of an object nearer to being connected, once there is a place among
// those of its namespace, and writes what it found.
func (f *Finder) look(ctx context.Context, one *finding, l look) {
	leave, err := f.clusters.looks.Wait(ctx, pool.Caller{Name: "namespace " + l.at.namespace})
	if err != nil {
		return // it ends
	}
	inner, cancel := context.WithTimeout(ctx, stepLimit)
	result := f.connect(inner, one, l)
	f.say(inner, l.object, result)
	cancel()
	leave.Leave()
	wait := lookEvery
	switch {
	case result.reason == reasonConnected:
		one.backoff.Reset()
		wait = againEvery
	case result.reason == reasonError:
		wait = min(lookEvery+one.backoff.Next(), time.Minute)
	case result.reason != reasonWaiting:
		wait = lookEvery + one.backoff.Next()
	}
	f.mu.Lock()
	one.looked, one.next = false, f.kube.Clock.Now().Add(wait)
	f.mu.Unlock()
	poke(f.wake)
}
