package kubehealth

// Status is one of six words.
type Status string

// The words, from best to worst as Worst compares them.
const (
	Healthy     Status = "Healthy"
	Suspended   Status = "Suspended"
	Progressing Status = "Progressing"
	Missing     Status = "Missing"
	Unknown     Status = "Unknown"
	Degraded    Status = "Degraded"
)

var rank = map[Status]int{Healthy: 0, Suspended: 1, Progressing: 2, Missing: 3, Unknown: 4, Degraded: 5}

// Compare is positive if a is worse than b, and zero if they are equally bad.
func Compare(a, b Status) int { return rank[a] - rank[b] }

// Worst returns the worse of two.
func Worst(a, b Status) Status {
	if Compare(b, a) > 0 {
		return b
	}
	return a
}

// Result is the judgement of a rule about one object.
type Result struct {
	Status  Status `json:"status"`
	Message string `json:"message"`
}
