// Texts to try the page with.

export const examples = [
  ["paraphrase", "The kitten sleeps on the sofa.", "A cat is asleep on the couch."],
  ["question", "How do I reset my password?", "I forgot my login details."],
  ["word order", "The dog bites the man.", "The man bites the dog."],
  ["negation", "The film is good.", "The film is not good."],
  ["unrelated", "Bread costs more.", "A cat is asleep on the couch."],
];

export const sample = `How do I change my password?
I would like to cancel my order.
Where is my parcel?
The package arrived damaged.
Can I pay with a credit card?
How long does delivery take?
I was charged twice for one purchase.
The app closes as soon as I open it.
How can I delete my account?
Do you ship to other countries?
The discount code does not work.
I need an invoice for my company.
Which sizes are in stock?
The color differs from the picture.
May I return an opened item?
The battery lasts only two hours.
My screen stays black after the update.
The sound is distorted on loud passages.
How do I connect the printer to wireless?
The keyboard misses every second letter.
Heavy rain flooded the streets of the old town.
The river froze for the first time in years.
A strong wind tore roofs from the houses.
It will be sunny and warm all week.
Snow blocked the pass through the mountains.
The harvest was poor because of the drought.
Farmers plant more wheat this year.
Bees pollinate the apple trees in spring.
The orchard lies behind the old mill.
She grows tomatoes on the balcony.
The baker opens at six in the morning.
Knead the dough and let it rest for an hour.
Simmer the soup on a low flame.
Add a pinch of salt to the sauce.
The cake needs forty minutes in the oven.
He brews coffee before anybody is awake.
The restaurant serves fresh fish on Fridays.
The train to the coast leaves at noon.
Our flight was delayed by fog.
The bus stops in front of the museum.
She rides her bicycle to work every day.
The road is closed for repairs.
They hiked along the ridge until sunset.
The hotel overlooks the harbor.
We lost our luggage at the airport.
The ferry crosses the strait twice a day.
The physician examined the sick child.
Nurses work long shifts at the hospital.
The vaccine protects against measles.
He broke his arm while skiing.
Regular exercise lowers blood pressure.
She has had a headache since yesterday.
The dentist pulled two teeth.
Scientists found water beneath the crust of the moon.
The telescope shows galaxies at the edge of the universe.
Light travels faster than sound.
The laboratory measures the mass of particles.
A new species of frog was discovered in the forest.
The volcano erupted without warning.
Whales sing to each other over great distances.
The parliament passed the budget after a long debate.
The mayor promised cheaper housing.
Voters rejected the proposal in a referendum.
The court ruled in favor of the tenants.
Police arrested two men after the robbery.
The witness refused to testify.
The central bank raised interest rates.
Shares fell sharply on Monday.
The firm hires two hundred engineers.
Workers went on strike for higher wages.
Rents have doubled within ten years.
The start-up was bought by a rival.
The striker scored twice in the final.
The goalkeeper saved a penalty.
She won the marathon in record time.
The team was relegated after a bad season.
The champion retired at the age of thirty.
The orchestra rehearses a new symphony.
He plays the violin in a quartet.
The novel tells the story of a lighthouse keeper.
The painter mixed blue and yellow.
The film won an award for its music.
Children built a castle of sand.
A cat is asleep on the couch.
The puppy chased its own tail.
Sparrows nest under the roof.
The teacher explained the rule again.
Students handed in their essays late.
The library lends tablets as well as books.
She learns Portuguese in an evening class.
My grandmother knits socks for everyone.
The twins argue about everything.
They married on a beach last summer.
The baby smiled at the stranger.
He apologized for being late.
The neighbors complain about the noise.
Turn off the lights before you leave.
The key is under the flower pot.
The clock in the hall has stopped.
Nobody answered the door.`;

export const lists = [
  `The museum is closed on Mondays.
My sister lives in a small village.
It has been raining since this morning.
Where can I buy a train ticket?
The children are playing in the garden.
He forgot his umbrella on the bus.
The soup is too hot to eat.
We have known each other for ten years.
The meeting starts at nine o'clock.
She reads a book every week.
The stars are bright tonight.`,
  `Où puis-je acheter un billet de train ?
Elle lit un livre chaque semaine.
Les enfants jouent dans le jardin.
Le musée est fermé le lundi.
La réunion commence à neuf heures.
Mon frère répare des vélos anciens.
Il pleut depuis ce matin.
La soupe est trop chaude pour être mangée.
Il a oublié son parapluie dans le bus.
Ma sœur habite dans un petit village.
Nous nous connaissons depuis dix ans.`,
];
