package kubeobj

// What marks an object as ours. The label selects watches, the two annotations
// decide whose an object is: labels are copied by controllers (Endpoints,
// operators), and a copied annotation names another object than it stands on.
const (
	// FieldManager is the name under which the agent applies.
	FieldManager = "axle-agent"
	// ManagedLabel holds the id of the cluster whose agent applies the object.
	ManagedLabel = "axle-cd.github.io/managed"
	// ServiceAnnotation holds the id of the service that renders the object.
	ServiceAnnotation = "axle-cd.github.io/service"
	// TrackingAnnotation holds Ref.Tracking of the object it stands on.
	TrackingAnnotation = "axle-cd.github.io/tracking"
	// OwningInventory is what custom resources of OwningInventoryGroup get
	// beside, for tools that look for their parent by it.
	OwningInventory = "config.k8s.io/owning-inventory"
	// OwningInventoryGroup is the group that gets OwningInventory.
	OwningInventoryGroup = "deployments.plural.sh"
	// CreatedForAnnotation is on namespaces that were made for a service, not
	// rendered by one. It holds the service's id.
	CreatedForAnnotation = "axle-cd.github.io/created-for"
	// DeadlineAnnotation says on an object how long it may be Progressing before
	// it is Degraded, such as "10m", for kinds without a deadline of their own.
	DeadlineAnnotation = "axle-cd.github.io/progress-deadline"
	// IdentityAnnotation is on objects that run once a revision and are rendered
	// other each time: it names what they are without that.
	IdentityAnnotation = "axle-cd.github.io/run-identity"
	// ApplySetLabel is on objects that another tool prunes by its own
	// inventory.
	ApplySetLabel = "applyset.kubernetes.io/part-of"
)
