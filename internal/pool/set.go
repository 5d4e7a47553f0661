package pool

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// reason is why a caller gets nothing.
type reason string

const (
	full      reason = "full"
	reserved  reason = "reserve"
	ofCaller  reason = "caller"
	ofProject reason = "project"
)

var reasons = []reason{full, reserved, ofCaller, ofProject}

// Set are the pools of one process. A nil Set makes pools without metrics.
type Set struct {
	refused *prometheus.CounterVec

	mu    sync.Mutex
	kinds []*kind
}

// kind are the pools of one name: one for each cluster, for example.
type kind struct {
	name string
	set  *Set

	mu  sync.Mutex
	all map[sized]bool
}

// sized is a pool, for the metrics.
type sized interface {
	Size() int
	Used() int
}

// NewSet returns a Set without pools, whose metrics the registerer has.
func NewSet(r prometheus.Registerer) *Set {
	s := &Set{refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_pool_refused_total",
		Help: "Requests that got no place in a pool, by pool and reason: full, reserve, caller, project."}, []string{"pool", "reason"})}
	if r != nil {
		r.MustRegister(s)
	}
	return s
}

// Places makes places.
func (s *Set) Places(spec Spec) *Places {
	k := s.kind(spec.Name)
	p := newPlaces(spec, k)
	k.add(p)
	return p
}

// Rates makes rates.
func (s *Set) Rates(spec RateSpec) *Rates {
	k := s.kind(spec.Name)
	r := newRates(spec, k)
	k.add(r)
	return r
}

// Each calls f with the name of every pool and the pool, *Places or *Rates, for tests that
// go through all.
func (s *Set) Each(f func(name string, one any)) {
	s.mu.Lock()
	kinds := slices.Clone(s.kinds)
	s.mu.Unlock()
	for _, k := range kinds {
		for _, p := range k.pools() {
			f(k.name, p)
		}
	}
}

func (k *kind) pools() []sized {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.all))
}

func (s *Set) kind(name string) *kind {
	if s == nil {
		return &kind{name: name, all: map[sized]bool{}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		if k.name == name {
			return k
		}
	}
	k := &kind{name: name, set: s, all: map[sized]bool{}}
	s.kinds = append(s.kinds, k)
	for _, why := range reasons {
		s.refused.WithLabelValues(name, string(why))
	}
	return k
}

func (k *kind) add(p sized) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all[p] = true
}

func (k *kind) remove(p sized) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, p)
}

func (k *kind) refuse(why reason) {
	if k.set != nil {
		k.set.refused.WithLabelValues(k.name, string(why)).Inc()
	}
}

// fullest returns the size, and how much is used, of the fullest pool of the name.
func (k *kind) fullest() (size, used int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p := range k.all {
		size = max(size, p.Size())
		used = max(used, p.Used())
	}
	return size, used
}

var (
	capacity = prometheus.NewDesc("axle_pool_capacity", "Places of a pool, or uses at once; of pools of one name those of one.", []string{"pool"}, nil)
	inUse    = prometheus.NewDesc("axle_pool_used", "Places of a pool that are taken, or uses that have not come back; of pools of one name those of the fullest.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (s *Set) Describe(to chan<- *prometheus.Desc) {
	to <- capacity
	to <- inUse
	s.refused.Describe(to)
}

// Collect implements prometheus.Collector.
func (s *Set) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	kinds := slices.Clone(s.kinds)
	s.mu.Unlock()
	for _, k := range kinds {
		size, used := k.fullest()
		to <- prometheus.MustNewConstMetric(capacity, prometheus.GaugeValue, float64(size), k.name)
		to <- prometheus.MustNewConstMetric(inUse, prometheus.GaugeValue, float64(used), k.name)
	}
	s.refused.Collect(to)
}
