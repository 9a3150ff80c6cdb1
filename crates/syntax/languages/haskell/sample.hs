{-# LANGUAGE GADTs #-}
{-# LANGUAGE TypeFamilies #-}

-- | Money that can be added.
module Data.Money
  ( Money (..)
  , Currency
  , Priced (price)
  , add
  , total
  , (<+>)
  , module Data.Ratio
  ) where

import Control.Monad (forM_, when)
import qualified Data.Map.Strict as Map
import Data.Ratio
import Data.List hiding (insert)

-- | What is paid with.
data Currency
  = Euro
  | Dollar
  deriving (Eq, Show)

-- | An amount in the smallest unit.
data Money = Money
  { amount :: !Integer -- ^ How much.
  , currency :: Currency
  }
  deriving (Eq)

newtype Wallet a = Wallet { coins :: Map.Map a Int }

-- | A name for what is owed.
type Debt = Money

{-| Things with a price.

    Free things cost nothing.
-}
class Priced a where
  -- | What it costs.
  price :: a -> Money
  -- | Whether it costs nothing.
  isFree :: a -> Bool
  isFree thing = amount (price thing) == 0

instance Priced Money where
  price = id

instance Show Money where
  show (Money n c) = show n ++ " " ++ show c

type family Unit a
type instance Unit Money = Integer

-- | Adds two amounts.
--
-- Gives nothing where currencies differ.
add :: Money -> Money -> Maybe Money
add (Money a c) (Money b d)
  | c == d = Just (Money (a + b) c)
  | otherwise = Nothing

infixl 6 <+>

-- | Adds, or fails.
(<+>) :: Money -> Money -> Money
a <+> b = case add a b of
  Just sum' -> sum'
  Nothing -> error "currencies differ"

-- | The sum of all.
total
  :: (Foldable f, Priced a)
  => Currency  -- ^ in which currency
  -> f a
  -> Money
total unit = foldr step (Money 0 unit)
  where
    step :: Priced a => a -> Money -> Money
    step thing rest = price thing <+> rest

-- Keeps what is dear.
dear :: Integer -> [Money] -> [Money]
dear limit = filter (\m -> amount m > limit && positive m)
  where positive m = amount m > 0

rates :: Map.Map Currency Rational
rates = Map.empty

report :: [Money] -> IO ()
report all' = do
  let count = length all'
  forM_ all' $ \m ->
    if amount m > 0 then print m else putStrLn "-"
  when (count > 10) $ putStrLn "many"

untyped 0 _ = 1
untyped n m = n * untyped (n - 1) m

pattern Zero :: Integer
pattern Zero = 0
